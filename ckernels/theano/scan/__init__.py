"""scan and its kin, over K.scan; what programs ask of them."""
