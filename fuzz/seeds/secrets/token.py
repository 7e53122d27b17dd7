TOKEN = "ghp_{{+}}9Jx2kQ7vTzR4mWc8Ld1Yb6HnPf3Gs5Ae0UoK"
