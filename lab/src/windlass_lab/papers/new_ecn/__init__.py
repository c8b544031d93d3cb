"""New-ECN: T. Hamann, A New Fair Window Algorithm for ECN Capable TCP, 1999."""
