package io.patternbench.cinema.broker;

import org.springframework.boot.actuate.endpoint.annotation.DeleteOperation;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.stereotype.Component;

/** How much is kept for clients, at {@code /actuator/answers}; deleting it forgets all. */
@Component
@Endpoint(id = "answers")
class AnswersEndpoint {
  private final OpenRequests requests;

  AnswersEndpoint(OpenRequests requests) {
    this.requests = requests;
  }

  /**
   * @param open requests whose answers can be fetched
   * @param bytes that are set aside for them
   */
  record Kept(int open, long bytes) {}

  @ReadOperation
  public Kept kept() {
    return new Kept(requests.size(), requests.bytes());
  }

  @DeleteOperation
  public void forget() {
    requests.forgetAll();
  }
}
