package io.patternbench.overload.items;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.net.URI;
import java.time.Duration;
import java.util.Optional;
import org.apache.commons.pool2.impl.GenericObjectPoolConfig;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import redis.clients.jedis.Connection;
import redis.clients.jedis.JedisPooled;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.params.SetParams;

/** Items in Redis as JSON, over pooled connections. */
final class RedisCache implements Cache, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(RedisCache.class);

  private final JedisPooled redis;
  private final ObjectMapper json;

  RedisCache(URI place, int connections, Duration timeout, ObjectMapper json) {
    GenericObjectPoolConfig<Connection> pool = new GenericObjectPoolConfig<>();
    pool.setMaxTotal(connections);
    pool.setMaxIdle(connections);
    pool.setMaxWait(timeout);
    this.redis = new JedisPooled(pool, place, Math.toIntExact(timeout.toMillis()));
    this.json = json;
  }

  @Override
  public Optional<Item> get(long id) {
    try {
      String text = redis.get(key(id));
      return text == null ? Optional.empty() : Optional.of(json.readValue(text, Item.class));
    } catch (JedisException | JsonProcessingException e) {
      LOG.debug("the cache has no answer for {}: {}", id, e.getMessage());
      return Optional.empty();
    }
  }

  @Override
  public void put(Item item, Duration ttl) {
    SetParams kept = SetParams.setParams();
    try {
      String text = json.writeValueAsString(item);
      redis.set(key(item.id()), text, ttl.isZero() ? kept : kept.px(Math.max(ttl.toMillis(), 1)));
    } catch (JedisException | JsonProcessingException e) {
      LOG.debug("the cache did not take {}: {}", item.id(), e.getMessage());
    }
  }

  private static String key(long id) {
    return "item:" + id;
  }

  @Override
  public void close() {
    redis.close();
  }
}
