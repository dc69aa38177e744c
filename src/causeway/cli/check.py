def check() -> None:
    """check"""
