//! Who runs when: contenders as processes, their cost, and the trials.
