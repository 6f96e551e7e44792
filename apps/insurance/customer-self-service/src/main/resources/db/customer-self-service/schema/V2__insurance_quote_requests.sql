-- A quote request is read and written as a whole, so it is one JSON document.
CREATE TABLE insurance_quote_requests (
  id          CHAR(36) NOT NULL PRIMARY KEY,
  customer_id CHAR(10) NOT NULL,
  content     JSON     NOT NULL
);
