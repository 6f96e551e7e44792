-- Copies of the self-service's quote requests. A withdrawal may arrive before what it withdraws: content is NULL then.
CREATE TABLE insurance_quote_requests (
  id          CHAR(36) NOT NULL PRIMARY KEY,
  customer_id CHAR(10) NOT NULL,
  content     JSON     NULL,
  withdrawn   BOOLEAN  NOT NULL DEFAULT FALSE
);
