-- 5 categories with 100 products each, 100 users, and for each user up to 5 orders with up to 10 items.
-- All of it follows from numbers by CRC32, so it is the same on every machine.
INSERT IGNORE INTO categories VALUES
  (1, 'Black tea', 'Fully oxidised: malty, brisk, good with milk.'),
  (2, 'Green tea', 'Steamed or pan-fired: fresh, grassy, light.'),
  (3, 'Herbal tea', 'No tea plant at all: flowers, leaves and roots.'),
  (4, 'Rooibos', 'Red bush from the Cederberg: sweet and without caffeine.'),
  (5, 'White tea', 'Young buds, hardly touched: soft and floral.');

INSERT IGNORE INTO products
WITH RECURSIVE numbers (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < 100)
SELECT
  (c.id - 1) * 100 + i,
  c.id,
  CONCAT(
    ELT(1 + (i - 1) DIV 10, 'Morning', 'Evening', 'Mountain', 'Garden', 'Harbour', 'Autumn', 'Silver', 'Golden', 'Royal', 'Quiet'),
    ' ',
    ELT(1 + (i - 1) % 10, 'Blend', 'Leaf', 'Blossom', 'Reserve', 'Harvest', 'Cloud', 'Spice', 'Orchard', 'Mist', 'Ember')),
  CONCAT(c.name, ' number ', i, ', ', 50 + 25 * (CRC32(CONCAT('weight ', c.id, ' ', i)) % 8), ' g in a tin.'),
  195 + 5 * (CRC32(CONCAT('price ', c.id, ' ', i)) % 560)
FROM categories c CROSS JOIN numbers;

-- The password is "password", as everybody's here: this is a shop to measure.
INSERT IGNORE INTO users
WITH RECURSIVE numbers (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM numbers WHERE i < 99)
SELECT
  i + 1,
  CONCAT('user', i),
  '$2b$08$patternbenchShopShop..97HH9LTJEj7NyKyjmCXQONTY1ez7x12',
  CONCAT(
    ELT(1 + i % 10, 'Ada', 'Alan', 'Barbara', 'Donald', 'Edsger', 'Frances', 'Grace', 'John', 'Leslie', 'Tony'),
    ' ',
    ELT(1 + i DIV 10, 'Baumann', 'Fischer', 'Huber', 'Keller', 'Meier', 'Moser', 'Schmid', 'Steiner', 'Weber', 'Wyss')),
  CONCAT('user', i, '@example.org')
FROM numbers;

INSERT IGNORE INTO orders
WITH RECURSIVE numbers (k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM numbers WHERE k < 5)
SELECT
  (u.id - 1) * 5 + k,
  u.id,
  DATE_ADD('2025-01-01', INTERVAL CRC32(CONCAT('day ', u.id, ' ', k)) % 365 DAY),
  0,
  u.real_name,
  CONCAT('Teestrasse ', u.id),
  '8640 Rapperswil',
  ELT(1 + u.id % 3, 'Visa', 'Mastercard', 'American Express'),
  '314159265359',
  '12/2030'
FROM users u CROSS JOIN numbers
WHERE k <= CRC32(CONCAT('orders ', u.id)) % 6;

-- Everybody has a favourite category, and some products are bought more often than others.
INSERT IGNORE INTO order_items
WITH RECURSIVE
  numbers (j) AS (SELECT 1 UNION ALL SELECT j + 1 FROM numbers WHERE j < 10),
  chosen AS (
    SELECT
      o.id AS order_id,
      j,
      IF(CRC32(CONCAT('favourite ', o.id, ' ', j)) % 10 < 7, o.user_id, CRC32(CONCAT('other ', o.id, ' ', j))) % 5 AS category,
      FLOOR(100 * POW(CRC32(CONCAT('product ', o.id, ' ', j)) / 4294967296, 2)) AS product,
      1 + CRC32(CONCAT('quantity ', o.id, ' ', j)) % 3 AS quantity
    FROM orders o CROSS JOIN numbers
    WHERE o.id <= 1000 AND j <= 1 + CRC32(CONCAT('items ', o.id)) % 10)
SELECT (c.order_id - 1) * 10 + c.j, p.id, c.order_id, c.quantity, p.list_price_in_cents
FROM chosen c JOIN products p ON p.id = c.category * 100 + c.product + 1;

UPDATE orders o
SET total_price_in_cents =
  (SELECT COALESCE(SUM(i.quantity * i.unit_price_in_cents), 0) FROM order_items i WHERE i.order_id = o.id)
WHERE o.id <= 1000;
