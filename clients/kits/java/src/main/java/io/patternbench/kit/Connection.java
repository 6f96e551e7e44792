package io.patternbench.kit;

import io.patternbench.kit.Round.Request;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.apache.hc.client5.http.classic.methods.HttpUriRequestBase;
import org.apache.hc.client5.http.config.ConnectionConfig;
import org.apache.hc.client5.http.config.RequestConfig;
import org.apache.hc.client5.http.impl.classic.CloseableHttpClient;
import org.apache.hc.client5.http.impl.classic.HttpClients;
import org.apache.hc.client5.http.impl.io.BasicHttpClientConnectionManager;
import org.apache.hc.core5.http.ClassicHttpResponse;
import org.apache.hc.core5.http.io.SocketConfig;
import org.apache.hc.core5.http.io.entity.ByteArrayEntity;
import org.apache.hc.core5.io.CloseMode;
import org.apache.hc.core5.util.TimeValue;
import org.apache.hc.core5.util.Timeout;

/**
 * The one connection of a user: kept alive, without retries, redirects or cookies of its own.
 *
 * <p>{@link #send} belongs to the user's thread; {@link #cut} and {@link #abandon} may come from
 * any.
 */
final class Connection implements AutoCloseable {
  private static final TimeValue CHECK_WHEN_IDLE_FOR = TimeValue.ofSeconds(1);

  private final Request request;
  private final URI uri;
  private final byte[] body;
  private final ScheduledExecutorService timer;
  private final Timeout timeout;
  private final String userAgent;
  private volatile CloseableHttpClient client;
  private final RequestConfig requestConfig;
  private final byte[] sink = new byte[8192];
  private volatile HttpUriRequestBase current;
  private volatile Deadline armed;
  private volatile boolean abandoned;

  Connection(Round round, ScheduledExecutorService timer, String userAgent) {
    this.request = round.request();
    this.uri = uri(round);
    this.body = request.body() == null ? null : request.body().getBytes(StandardCharsets.UTF_8);
    this.timer = timer;
    this.timeout = Timeout.ofMilliseconds(request.timeoutUs() / 1000 + 1);
    this.userAgent = userAgent;
    this.client = client(timeout, userAgent);
    this.requestConfig = requestConfig(timeout);
  }

  /**
   * One attempt: its outcome once the last byte has been read, or when it failed.
   *
   * @param ended whether a policy has ended it before it began
   */
  int send(BooleanSupplier ended) {
    HttpUriRequestBase http = newRequest();
    Deadline deadline = new Deadline(http);
    current = http;
    armed = deadline;
    if (abandoned) {
      return Outcome.CONNECTION_ERROR;
    }
    Future<?> alarm = timer.schedule(deadline, request.timeoutUs(), TimeUnit.MICROSECONDS);
    try {
      if (ended.getAsBoolean()) {
        deadline.run();
      }
      return client.execute(http, this::status);
    } catch (IOException e) {
      return deadline.disarm() || isTimeout(e) ? Outcome.TIMEOUT : Outcome.CONNECTION_ERROR;
    } catch (IllegalStateException e) {
      // The library says so when it is cut off between two steps; otherwise it is a defect.
      if (deadline.disarm() || abandoned) {
        return Outcome.TIMEOUT;
      }
      throw e;
    } finally {
      armed = null;
      alarm.cancel(false);
      if (deadline.disarm()) {
        renew();
      }
    }
  }

  /** A connection that was cut off between two of the library's steps cannot be trusted again. */
  private void renew() {
    client.close(CloseMode.IMMEDIATE);
    client = client(timeout, userAgent);
  }

  /** Ends the attempt under way as a timeout. */
  void cut() {
    Deadline deadline = armed;
    if (deadline != null) {
      deadline.run();
    }
  }

  /** Ends the attempt under way, and lets none begin. */
  void abandon() {
    abandoned = true;
    HttpUriRequestBase http = current;
    if (http != null) {
      http.cancel();
    }
  }

  @Override
  public void close() throws IOException {
    client.close();
  }

  private static URI uri(Round round) {
    String target = round.target().toString();
    String origin = target.endsWith("/") ? target.substring(0, target.length() - 1) : target;
    return URI.create(origin + round.request().path());
  }

  private static CloseableHttpClient client(Timeout timeout, String userAgent) {
    BasicHttpClientConnectionManager manager = new BasicHttpClientConnectionManager();
    manager.setSocketConfig(
        SocketConfig.custom().setTcpNoDelay(true).setSoTimeout(timeout).build());
    manager.setConnectionConfig(
        ConnectionConfig.custom()
            .setConnectTimeout(timeout)
            .setSocketTimeout(timeout)
            .setValidateAfterInactivity(CHECK_WHEN_IDLE_FOR)
            .build());
    return HttpClients.custom()
        .setConnectionManager(manager)
        .setUserAgent(userAgent)
        .disableAutomaticRetries()
        .disableRedirectHandling()
        .disableCookieManagement()
        .disableAuthCaching()
        .disableContentCompression()
        .disableConnectionState()
        .build();
  }

  private static RequestConfig requestConfig(Timeout timeout) {
    return RequestConfig.custom()
        .setConnectionRequestTimeout(timeout)
        .setResponseTimeout(timeout)
        .setExpectContinueEnabled(false)
        .setProtocolUpgradeEnabled(false)
        .setHardCancellationEnabled(true)
        .build();
  }

  private HttpUriRequestBase newRequest() {
    HttpUriRequestBase http = new HttpUriRequestBase(request.method(), uri);
    http.setConfig(requestConfig);
    request.headers().forEach(http::setHeader);
    if (body != null) {
      // The content type is whatever the round's headers say, or none.
      http.setEntity(new ByteArrayEntity(body, null));
    }
    return http;
  }

  private Integer status(ClassicHttpResponse response) throws IOException {
    if (response.getEntity() != null) {
      try (InputStream content = response.getEntity().getContent()) {
        while (content.read(sink) >= 0) {
          // Read to the end, so that the time is that of the last byte.
        }
      }
    }
    return Outcome.ofStatus(response.getCode());
  }

  private static boolean isTimeout(Exception e) {
    return e instanceof java.net.SocketTimeoutException;
  }

  /**
   * Cuts one attempt off, wherever it is.
   *
   * <p>A cut gives the connection back in two steps. The user waits for both, since otherwise its
   * next attempt might find the connection taken.
   */
  private static final class Deadline implements Runnable {
    private final HttpUriRequestBase http;
    private boolean disarmed;
    private boolean passed;

    Deadline(HttpUriRequestBase http) {
      this.http = http;
    }

    @Override
    public synchronized void run() {
      if (!disarmed) {
        passed = true;
        http.cancel();
      }
    }

    /** Ends its power over the attempt; true when it has been used. */
    synchronized boolean disarm() {
      disarmed = true;
      return passed;
    }
  }
}
