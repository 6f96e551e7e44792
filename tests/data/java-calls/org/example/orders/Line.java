package org.example.orders;

/** A line of an order. */
record Line(int number) {}
