"""What earlier versions wrote: `make state` records it, and the tests go on from there."""
