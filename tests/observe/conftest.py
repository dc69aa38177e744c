from hypothesis import settings

# How long an example takes says nothing about these decisions, and machines that test are busy.
settings.register_profile("causeway", deadline=None)
settings.load_profile("causeway")
