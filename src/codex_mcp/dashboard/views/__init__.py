"""What each page shows, as values: everything here is pure.

`facts` is what the servers tell, `pages` has one function for each page, `attention` decides who needs a person.
"""
