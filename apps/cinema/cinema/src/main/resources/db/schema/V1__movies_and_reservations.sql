CREATE TABLE movies (
  id         VARCHAR(20)  NOT NULL PRIMARY KEY,
  name       VARCHAR(200) NOT NULL,
  show_times JSON         NOT NULL
);

-- A reservation is read and written as a whole, so it is one JSON document. They are listed in the order of their
-- numbers, which no clock changes.
CREATE TABLE reservations (
  number   BIGINT      NOT NULL AUTO_INCREMENT PRIMARY KEY,
  id       CHAR(36)    NOT NULL UNIQUE,
  movie_id VARCHAR(20) NOT NULL,
  content  JSON        NOT NULL,
  CONSTRAINT movie_exists FOREIGN KEY (movie_id) REFERENCES movies (id)
);
