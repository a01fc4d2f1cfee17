"""Figures and pages that studies, selections and fits share."""
