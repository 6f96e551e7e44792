"""What a study says of load: when calls begin, what each sends, and the policies around it."""
