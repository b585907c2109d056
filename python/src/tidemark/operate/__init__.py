"""Operations on entities as commands: said first, then asked for, then done."""
