//! What each scenario sends, and what a right answer is.
