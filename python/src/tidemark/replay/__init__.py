"""Business dates loaded again through today's models, in clones, beside what was loaded then."""
