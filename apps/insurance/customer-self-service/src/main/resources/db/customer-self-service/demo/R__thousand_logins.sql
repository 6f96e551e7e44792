-- The customers of customer-core. The password is "insurance", as everybody's here: this is a company to measure.
INSERT IGNORE INTO logins
WITH RECURSIVE numbers (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < 1000)
SELECT
  CONCAT('c', LPAD(i, 9, '0'), '@example.org'),
  CONCAT('c', LPAD(i, 9, '0')),
  '$2b$10$patternbenchInsurance.hqLNYoPaLJS2RuTCyEvwu9LKA16syO2'
FROM numbers;
