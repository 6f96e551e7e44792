-- The password is "insurance", as everybody's here: this is a company to measure.
INSERT IGNORE INTO logins VALUES
  ('e000000001@example.org', 'e000000001', '$2b$10$patternbenchInsurance.hqLNYoPaLJS2RuTCyEvwu9LKA16syO2');
