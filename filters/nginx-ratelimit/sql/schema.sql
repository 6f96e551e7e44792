-- State of the rate limits in MariaDB. Run once, in a database of its own:
--   mariadb ratelimit < schema.sql
-- One call decides: it locks the row of the key, reads the server's clock after it holds the lock, and answers with one row.
-- Arithmetic is DOUBLE on whole numbers, the same as in the Lua core, and is held to the same vectors.

SET NAMES utf8mb4;

CREATE TABLE IF NOT EXISTS ratelimit_state (
  k VARBINARY(200) NOT NULL PRIMARY KEY,
  a DOUBLE NOT NULL DEFAULT 0,
  b DOUBLE NOT NULL DEFAULT 0,
  expires BIGINT NOT NULL COMMENT 'seconds since 1970, rounded up so that it seldom changes',
  KEY ratelimit_expires (expires)
) ENGINE = InnoDB;

-- The admissions of a sliding window log, or the counts of sub-windows.
CREATE TABLE IF NOT EXISTS ratelimit_log (
  k VARBINARY(200) NOT NULL,
  t BIGINT NOT NULL,
  n BIGINT NOT NULL,
  PRIMARY KEY (k, t),
  CONSTRAINT ratelimit_log_of_state FOREIGN KEY (k) REFERENCES ratelimit_state (k) ON DELETE CASCADE
) ENGINE = InnoDB;

DELIMITER $$

-- Locks the row of a key, making it when it is new. An insert that meets the key takes the exclusive lock at once:
-- two callers that both tried first with a shared lock would wait for each other. A caller whose time is over while it waits
-- reads that in @ratelimit_waits.
CREATE OR REPLACE PROCEDURE ratelimit_lock(IN p_key VARBINARY(200), OUT p_a DOUBLE, OUT p_b DOUBLE)
  MODIFIES SQL DATA
BEGIN
  DECLARE EXIT HANDLER FOR NOT FOUND
  BEGIN
    INSERT INTO ratelimit_state (k, expires) VALUES (p_key, UNIX_TIMESTAMP() + 60) ON DUPLICATE KEY UPDATE k = k;
    SELECT a, b INTO p_a, p_b FROM ratelimit_state WHERE k = p_key FOR UPDATE;
  END;
  SET @ratelimit_waits = 1;
  SELECT a, b INTO p_a, p_b FROM ratelimit_state WHERE k = p_key FOR UPDATE;
END$$

-- Microseconds until `p_amount` units fit into a sliding window log whose entries add up to `p_sum`; -1: never.
CREATE OR REPLACE FUNCTION ratelimit_log_wait(
  p_key VARBINARY(200), p_now DOUBLE, p_limit DOUBLE, p_window DOUBLE, p_sum DOUBLE, p_amount DOUBLE
) RETURNS DOUBLE READS SQL DATA
BEGIN
  DECLARE v_t DOUBLE DEFAULT NULL;
  DECLARE v_most BIGINT DEFAULT LEAST(GREATEST(1, p_sum + p_amount - p_limit), 1000000);
  IF p_amount > p_limit THEN
    RETURN -1;
  END IF;
  -- Each entry frees one unit or more: no more entries than units that are missing have to be looked at.
  SELECT MIN(t) INTO v_t FROM (
    SELECT t, SUM(n) OVER (ORDER BY t) AS freed FROM (
      SELECT t, n FROM ratelimit_log WHERE k = p_key AND t > p_now - p_window AND n > 0 ORDER BY t LIMIT v_most
    ) AS oldest
  ) AS entries WHERE p_sum - freed + p_amount <= p_limit;
  RETURN IF(v_t IS NULL, -1, v_t + p_window - p_now);
END$$

-- The same for a sliding window counter in sub-window `p_index` of length `p_sub`.
CREATE OR REPLACE FUNCTION ratelimit_counter_wait(
  p_key VARBINARY(200), p_now DOUBLE, p_limit DOUBLE, p_index DOUBLE, p_sub DOUBLE, p_subs INT,
  p_whole DOUBLE, p_oldest DOUBLE, p_amount DOUBLE
) RETURNS DOUBLE READS SQL DATA
BEGIN
  DECLARE v_step INT DEFAULT 0;
  DECLARE v_room, v_elapsed DOUBLE;
  WHILE v_step <= p_subs DO
    SET v_room = p_limit - p_amount - p_whole;
    IF v_room >= 0 THEN
      SET v_elapsed = IF(p_oldest > v_room, CEIL(p_sub * (p_oldest - v_room) / p_oldest), 0);
      RETURN GREATEST(1, (p_index + v_step) * p_sub + v_elapsed - p_now);
    END IF;
    SET v_step = v_step + 1;
    SET p_oldest = COALESCE((SELECT n FROM ratelimit_log WHERE k = p_key AND t = p_index - p_subs + v_step), 0);
    SET p_whole = p_whole - p_oldest;
  END WHILE;
  RETURN -1;
END$$

-- Decides for one key and answers with a row: now, allowed, remaining, reset, retry_after, delay, granted.
-- Verbs: take, reserve, report, refund. `p_now` below zero means this server's clock.
-- A binding rejection sets @ratelimit_denied, on which ratelimit_finish rolls everything back.
CREATE OR REPLACE PROCEDURE ratelimit_decide(
  IN p_key VARBINARY(200), IN p_verb VARCHAR(8), IN p_algorithm VARCHAR(24), IN p_limit DOUBLE, IN p_window DOUBLE,
  IN p_burst DOUBLE, IN p_subs INT, IN p_amount DOUBLE, IN p_share DOUBLE, IN p_at DOUBLE, IN p_binding INT, IN p_now DOUBLE
)
  MODIFIES SQL DATA
BEGIN
  DECLARE v_a, v_b, v_now, v_room, v_oldest, v_whole, v_index, v_reset, v_back DOUBLE DEFAULT 0;
  DECLARE v_scale, v_sub DOUBLE DEFAULT 1;
  DECLARE v_ttl DOUBLE DEFAULT p_window;
  DECLARE v_wait, v_delay, v_take DOUBLE DEFAULT 0;
  DECLARE v_allowed, v_probe BOOLEAN DEFAULT FALSE;
  DECLARE v_expires BIGINT;
  DECLARE v_bucket BOOLEAN DEFAULT p_algorithm IN ('token_bucket', 'gcra', 'leaky_bucket');

  CALL ratelimit_lock(p_key, v_a, v_b);
  SET @ratelimit_waits = 0;
  -- Who waited for the row until nobody waits for the answer any more (a time of this server's clock) counts nothing.
  IF UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 > @ratelimit_until THEN
    SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 1242, MESSAGE_TEXT = 'LATE: nobody waits for this call any more';
  END IF;
  SET v_now = IF(p_now < 0, FLOOR(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000), p_now);

  -- Bring the state to now; v_room is what is free, in units of 1/v_scale.
  IF p_algorithm = 'fixed_window' THEN
    SET v_index = v_now - MOD(v_now, p_window);
    IF v_index > v_a OR v_a - v_index > p_window THEN
      SET v_a = v_index, v_b = 0;
    END IF;
    SET v_room = p_limit - v_b;
  ELSEIF v_bucket THEN
    SET v_scale = p_window, v_ttl = CEIL(p_burst * p_window / p_limit);
    -- A time further ahead than a full bucket is of a clock that was set back since (a server since a failover): begin anew.
    IF p_algorithm = 'token_bucket' THEN
      SET v_b = IF((v_a - v_now) * p_limit > p_burst * p_window, 0, GREATEST(0, v_b - GREATEST(0, v_now - v_a) * p_limit));
    ELSE
      SET v_b = (v_a - v_now) * p_limit + v_b;
      SET v_b = IF(v_b > 2 * p_burst * p_window, 0, LEAST(GREATEST(0, v_b), p_burst * p_window));
    END IF;
    SET v_room = p_burst * p_window - v_b;
  ELSEIF p_algorithm = 'sliding_window_log' THEN
    IF v_a - v_now > p_window THEN
      DELETE FROM ratelimit_log WHERE k = p_key;
      SET v_a = 0, v_b = 0;
    END IF;
    SET v_now = GREATEST(v_now, v_a);
    SET v_b = v_b - COALESCE((SELECT SUM(n) FROM ratelimit_log WHERE k = p_key AND t <= v_now - p_window), 0);
    SET v_room = p_limit - v_b;
  ELSE
    SET v_sub = CEIL(p_window / p_subs), v_scale = v_sub, v_ttl = v_sub * (p_subs + 1);
    SET v_index = FLOOR(v_now / v_sub);
    IF v_a > v_index AND v_a - v_index <= p_subs THEN
      SET v_index = v_a;
    ELSEIF v_a > v_index THEN
      DELETE FROM ratelimit_log WHERE k = p_key;
    END IF;
    SELECT COALESCE(SUM(IF(t > v_index - p_subs, n, 0)), 0), COALESCE(SUM(IF(t = v_index - p_subs, n, 0)), 0)
      INTO v_whole, v_oldest
      FROM ratelimit_log WHERE k = p_key AND t BETWEEN v_index - p_subs AND v_index;
    SET v_room = (p_limit - v_whole) * v_sub - v_oldest * (v_sub - GREATEST(0, v_now - v_index * v_sub));
  END IF;

  -- Decide: how many units to book (v_take; negative when given back).
  CASE p_verb
    WHEN 'take' THEN
      SET v_allowed = p_amount = 0 OR p_amount * v_scale <= v_room, v_take = IF(v_allowed, p_amount, 0);
    WHEN 'reserve' THEN
      SET p_amount = GREATEST(1, LEAST(p_amount, CEIL(GREATEST(0, FLOOR(v_room / v_scale)) * p_share)));
      SET v_allowed = p_amount * v_scale <= v_room, v_take = IF(v_allowed, p_amount, 0);
    WHEN 'report' THEN
      SET v_take = p_amount, v_allowed = v_scale <= v_room - p_amount * v_scale;
    ELSE
      SET v_take = -p_amount, v_allowed = TRUE;
  END CASE;
  SET v_delay = IF(p_algorithm = 'leaky_bucket' AND v_allowed, CEIL(v_b / p_limit), 0);

  -- Book it.
  IF v_bucket THEN
    SET v_b = GREATEST(0, v_b + v_take * p_window);
    SET v_room = p_burst * p_window - v_b;
  ELSEIF p_algorithm = 'sliding_window_counter' THEN
    SET v_back = IF(v_take < 0, FLOOR(p_at / v_sub), v_index);
    IF v_take <> 0 AND v_back <= v_index AND v_index - v_back <= p_subs THEN
      IF v_take < 0 THEN
        UPDATE ratelimit_log SET n = GREATEST(0, n + v_take) WHERE k = p_key AND t = v_back;
      ELSE
        INSERT INTO ratelimit_log VALUES (p_key, v_back, v_take) ON DUPLICATE KEY UPDATE n = n + v_take;
      END IF;
      DELETE FROM ratelimit_log WHERE k = p_key AND t < v_index - p_subs;
      SELECT COALESCE(SUM(IF(t > v_index - p_subs, n, 0)), 0), COALESCE(SUM(IF(t = v_index - p_subs, n, 0)), 0)
        INTO v_whole, v_oldest
        FROM ratelimit_log WHERE k = p_key AND t BETWEEN v_index - p_subs AND v_index;
      SET v_room = (p_limit - v_whole) * v_sub - v_oldest * (v_sub - GREATEST(0, v_now - v_index * v_sub));
    END IF;
    SET v_a = v_index;
  ELSEIF p_algorithm = 'sliding_window_log' THEN
    IF v_take > 0 THEN
      INSERT INTO ratelimit_log VALUES (p_key, v_now, v_take) ON DUPLICATE KEY UPDATE n = n + v_take;
      SET v_a = v_now;
    ELSEIF v_take < 0 THEN
      SET v_take = -LEAST(-v_take,
        COALESCE((SELECT n FROM ratelimit_log WHERE k = p_key AND t = p_at AND t > v_now - p_window), 0));
      UPDATE ratelimit_log SET n = n + v_take WHERE k = p_key AND t = p_at;
    END IF;
    SET v_b = v_b + v_take, v_room = p_limit - v_b;
    IF v_take <> 0 THEN
      DELETE FROM ratelimit_log WHERE k = p_key AND t <= v_now - p_window;
    END IF;
  ELSE
    IF v_take > 0 OR p_at >= v_a THEN
      SET v_b = GREATEST(0, v_b + v_take);
    END IF;
    SET v_room = p_limit - v_b;
  END IF;
  IF v_take <> 0 THEN
    SET v_expires = CEIL((v_now + v_ttl) / 60000000) * 60 + 60;
    IF p_algorithm IN ('gcra', 'leaky_bucket') THEN
      UPDATE ratelimit_state
        SET a = v_now + FLOOR(v_b / p_limit), b = MOD(v_b, p_limit), expires = v_expires WHERE k = p_key;
    ELSE
      UPDATE ratelimit_state
        SET a = IF(p_algorithm = 'token_bucket', v_now, v_a), b = v_b, expires = v_expires WHERE k = p_key;
    END IF;
  END IF;

  -- Answer: when everything is free again, and when the same amount would fit.
  SET v_probe = p_verb IN ('take', 'reserve') AND NOT v_allowed OR p_verb = 'report' AND NOT v_allowed;
  IF p_verb = 'report' THEN
    SET p_amount = 1;
  END IF;
  IF p_algorithm = 'fixed_window' THEN
    SET v_reset = v_a + p_window - v_now;
    SET v_wait = IF(NOT v_probe, 0, IF(p_amount > p_limit, -1, v_reset));
  ELSEIF v_bucket THEN
    SET v_reset = CEIL(v_b / p_limit);
    SET v_wait = IF(NOT v_probe, 0, IF(p_amount > p_burst, -1, CEIL((v_b + (p_amount - p_burst) * p_window) / p_limit)));
  ELSEIF p_algorithm = 'sliding_window_log' THEN
    SET v_reset = IF(EXISTS (SELECT 1 FROM ratelimit_log WHERE k = p_key AND t > v_now - p_window),
      v_a + p_window - v_now, 0);
    SET v_wait = IF(v_probe, ratelimit_log_wait(p_key, v_now, p_limit, p_window, v_b, p_amount), 0);
  ELSE
    SET v_reset = COALESCE((
      SELECT (MAX(t) + p_subs + 1) * v_sub - v_now FROM ratelimit_log WHERE k = p_key AND n > 0 AND t >= v_index - p_subs), 0);
    SET v_wait = IF(v_probe,
      ratelimit_counter_wait(p_key, v_now, p_limit, v_index, v_sub, p_subs, v_whole, v_oldest, p_amount), 0);
  END IF;
  IF p_binding AND NOT v_allowed THEN
    SET @ratelimit_denied = 1;
  END IF;
  SELECT CAST(v_now AS SIGNED), v_allowed, CAST(GREATEST(0, FLOOR(v_room / v_scale)) AS SIGNED), CAST(v_reset AS SIGNED),
    CAST(v_wait AS SIGNED), CAST(v_delay AS SIGNED), CAST(GREATEST(0, v_take) * (p_verb IN ('take', 'reserve')) AS SIGNED);
END$$

CREATE OR REPLACE PROCEDURE ratelimit_finish() MODIFIES SQL DATA
BEGIN
  IF @ratelimit_denied THEN
    ROLLBACK;
  ELSE
    COMMIT;
  END IF;
END$$

-- Forgets at most `p_most` keys whose state is as good as new.
CREATE OR REPLACE PROCEDURE ratelimit_purge(IN p_most INT) MODIFIES SQL DATA
BEGIN
  DELETE FROM ratelimit_state WHERE expires < UNIX_TIMESTAMP() LIMIT p_most;
  SELECT ROW_COUNT();
END$$

DELIMITER ;
