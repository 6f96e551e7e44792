-- c000000001 to c000001000. The self-service has a login for each.
INSERT IGNORE INTO customers
WITH RECURSIVE numbers (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < 1000)
SELECT
  CONCAT('c', LPAD(i, 9, '0')),
  ELT(1 + i % 10, 'Ada', 'Alan', 'Barbara', 'Donald', 'Edsger', 'Frances', 'Grace', 'John', 'Leslie', 'Tony'),
  ELT(1 + i DIV 10 % 10, 'Baumann', 'Fischer', 'Huber', 'Keller', 'Meier', 'Moser', 'Schmid', 'Steiner', 'Weber', 'Wyss'),
  DATE_ADD('1940-01-01', INTERVAL i * 23 DAY),
  CONCAT('Seestrasse ', i),
  LPAD(1000 + i * 7 % 9000, 4, '0'),
  ELT(1 + i % 8, 'Basel', 'Bern', 'Chur', 'Genf', 'Luzern', 'Rapperswil', 'St. Gallen', 'Zug'),
  CONCAT('c', LPAD(i, 9, '0'), '@example.org'),
  CONCAT('055 222 ', LPAD(i, 4, '0'))
FROM numbers;
