CREATE TABLE categories (
  id          BIGINT       NOT NULL PRIMARY KEY,
  name        VARCHAR(100) NOT NULL,
  description VARCHAR(500) NOT NULL
);

CREATE TABLE products (
  id                  BIGINT       NOT NULL PRIMARY KEY,
  category_id         BIGINT       NOT NULL REFERENCES categories (id),
  name                VARCHAR(100) NOT NULL,
  description         VARCHAR(500) NOT NULL,
  list_price_in_cents BIGINT       NOT NULL,
  KEY (category_id, id)
);

CREATE TABLE users (
  id        BIGINT       NOT NULL PRIMARY KEY,
  user_name VARCHAR(100) NOT NULL UNIQUE,
  password  CHAR(60)     NOT NULL,
  real_name VARCHAR(100) NOT NULL,
  email     VARCHAR(200) NOT NULL
);

-- The demo data have ids up to 1000 (orders) and 100000 (items).
CREATE TABLE orders (
  id                      BIGINT       NOT NULL AUTO_INCREMENT PRIMARY KEY,
  user_id                 BIGINT       NOT NULL REFERENCES users (id),
  time                    DATETIME(3)  NOT NULL,
  total_price_in_cents    BIGINT       NOT NULL,
  address_name            VARCHAR(100) NOT NULL,
  address1                VARCHAR(200) NOT NULL,
  address2                VARCHAR(200) NOT NULL,
  credit_card_company     VARCHAR(50)  NOT NULL,
  credit_card_number      VARCHAR(30)  NOT NULL,
  credit_card_expiry_date VARCHAR(10)  NOT NULL,
  KEY (user_id)
) AUTO_INCREMENT = 1001;

CREATE TABLE order_items (
  id                  BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  product_id          BIGINT NOT NULL REFERENCES products (id),
  order_id            BIGINT NOT NULL,
  quantity            INT    NOT NULL,
  unit_price_in_cents BIGINT NOT NULL,
  FOREIGN KEY (order_id) REFERENCES orders (id) ON DELETE CASCADE,
  UNIQUE KEY (order_id, product_id)
) AUTO_INCREMENT = 100001;
