"""The method lfe."""
