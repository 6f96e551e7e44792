package io.patternbench.insurance.system;

import com.fasterxml.jackson.databind.JsonNode;
import io.patternbench.insurance.testing.Contract;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** A client that sends requests with the token of the signed-in user. */
record Client(String authorization) {
  private static final HttpClient HTTP =
      HttpClient.newBuilder()
          .version(HttpClient.Version.HTTP_1_1)
          .connectTimeout(Duration.ofSeconds(5))
          .build();

  record Answer(int status, JsonNode body) {
    List<Integer> statuses() {
      List<Integer> statuses = new ArrayList<>();
      body.get("items").forEach(item -> statuses.add(item.get("status").asInt()));
      return statuses;
    }

    List<String> ids() {
      List<String> ids = new ArrayList<>();
      body.get("items").forEach(item -> ids.add(item.get("id").asText()));
      return ids;
    }
  }

  Answer get(String url) {
    return send("GET", url, null);
  }

  Answer delete(String url) {
    return send("DELETE", url, null);
  }

  Answer put(String url, String body) {
    return send("PUT", url, body);
  }

  Answer post(String url, String body, String... headers) {
    return send("POST", url, body, headers);
  }

  private Answer send(String method, String url, String body, String... headers) {
    BodyPublisher sent = body == null ? BodyPublishers.noBody() : BodyPublishers.ofString(body);
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(url))
            .method(method, sent)
            .timeout(Duration.ofSeconds(60))
            .header("Authorization", authorization)
            .header("Content-Type", "application/json");
    if (headers.length > 0) {
      request.headers(headers);
    }
    return answered(request.build());
  }

  private static Answer answered(HttpRequest request) {
    try {
      HttpResponse<byte[]> response = HTTP.send(request, BodyHandlers.ofByteArray());
      return new Answer(response.statusCode(), Contract.JSON.readTree(response.body()));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }
}
