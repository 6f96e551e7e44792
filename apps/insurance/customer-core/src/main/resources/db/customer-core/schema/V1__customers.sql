CREATE TABLE customers (
  customer_id    CHAR(10)     NOT NULL PRIMARY KEY,
  firstname      VARCHAR(100) NOT NULL,
  lastname       VARCHAR(100) NOT NULL,
  birthday       DATE         NOT NULL,
  street_address VARCHAR(100) NOT NULL,
  postal_code    VARCHAR(10)  NOT NULL,
  city           VARCHAR(100) NOT NULL,
  email          VARCHAR(200) NOT NULL,
  phone_number   VARCHAR(30)  NOT NULL
);
