"""Who may use the HTTP server, and how often.

A request's headers go in, a principal or a rejection comes out. `gate` has the rules, `access_control` applies them
with the token and key files, `rates` limits requests and failed logins, `grants` closes connections whose token becomes
invalid. Start with `gate`.
"""
