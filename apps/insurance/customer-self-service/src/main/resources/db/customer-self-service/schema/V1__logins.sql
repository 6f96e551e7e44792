CREATE TABLE logins (
  email         VARCHAR(200) NOT NULL PRIMARY KEY,
  owner_id      CHAR(10)     NOT NULL,
  password_hash CHAR(60)     NOT NULL
);
