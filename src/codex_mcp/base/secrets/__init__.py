"""Masking secrets in text that is logged or stored, and keeping those of a client from our children.

Start with `redact` and with `client_variables`.
"""
