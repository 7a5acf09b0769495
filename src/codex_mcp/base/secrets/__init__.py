"""Masking secrets in text that is logged or stored. Start with `redact`."""
