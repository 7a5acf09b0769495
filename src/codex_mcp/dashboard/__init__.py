"""The pages for people: sign-in, Fleet, Needs you.

Start with `site`, which has the routes. `fleet` follows all servers of a state folder through their control sockets,
`views` turns that into what a page shows, `rendering` into HTML, and `streams` keeps open pages up to date.
"""
