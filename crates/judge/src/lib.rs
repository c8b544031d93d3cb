//! Judges TCP senders by the clauses of RFCs and drafts.
