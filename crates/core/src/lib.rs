//! Pure values and verdicts of the protocol messaging/1.
#![no_std]
