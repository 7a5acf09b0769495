"""`http/request`: HTTP requests made from the server's machine.

In: `http/request`. Out: the response, or its head followed by body notifications. `requests.py` does the I/O, `hops.py`
builds requests and follows redirects, `response.py` parses responses.
"""
