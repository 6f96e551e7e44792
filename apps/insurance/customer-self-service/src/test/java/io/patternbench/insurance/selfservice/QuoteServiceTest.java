package io.patternbench.insurance.selfservice;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.argThat;
import static org.mockito.Mockito.doThrow;
import static org.mockito.Mockito.never;
import static org.mockito.Mockito.times;
import static org.mockito.Mockito.verify;

import io.patternbench.apps.commons.Problems;
import io.patternbench.apps.testing.MariaDb;
import io.patternbench.insurance.commons.bundle.Bundle;
import io.patternbench.insurance.commons.bundle.Bundle.Item;
import io.patternbench.insurance.commons.bundle.BundleForward;
import io.patternbench.insurance.commons.bundle.BundleReads;
import io.patternbench.insurance.commons.bundle.BundleSettings;
import io.patternbench.insurance.commons.bundle.Items;
import io.patternbench.insurance.commons.security.Caller;
import io.patternbench.insurance.commons.security.Role;
import java.util.Collections;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.test.context.bean.override.mockito.MockitoBean;

/** Quote requests on a real database, whose way to policy-management is under the test's hand. */
@MariaDb("customer_self_service")
@SpringBootTest(properties = "QUOTE_CHANNEL=http")
class QuoteServiceTest {
  private static final Caller OWNER = new Caller("c000000007", Role.CUSTOMER);
  private static final Caller OTHER = new Caller("c000000008", Role.CUSTOMER);

  @Autowired private QuoteService quotes;
  @Autowired private BundleSettings settings;
  @Autowired private JdbcClient database;
  @MockitoBean private QuoteChannel channel;

  @AfterEach
  void asPublishedAndEmpty() {
    settings.change(BundleReads.ONE_BY_ONE, BundleForward.EACH);
    database.sql("DELETE FROM insurance_quote_requests").update();
  }

  static Stream<Arguments> depths() {
    return Stream.of(BundleReads.values())
        .flatMap(r -> Stream.of(BundleForward.values()).map(f -> Arguments.of(r, f)));
  }

  @ParameterizedTest
  @MethodSource("depths")
  void howDeepABundleGoesDoesNotChangeItsAnswers(BundleReads reads, BundleForward forward) {
    settings.change(reads, forward);
    String id = create(1).get(0);
    String another = create(1).get(0);
    Items<String> asked = Items.of(List.of(id, "nothing", another, id), i -> i);
    assertThat(statuses(quotes.get(asked, OWNER).bundle())).containsExactly(200, 404, 200, 200);
    assertThat(statuses(quotes.get(asked, OTHER).bundle())).containsExactly(403, 404, 403, 403);
    assertThat(statuses(quotes.delete(asked, OTHER).deleted())).containsExactly(403, 404, 403, 403);
    assertThat(statuses(quotes.delete(asked, OWNER).deleted())).containsExactly(204, 404, 204, 404);
    assertThat(stored()).isZero();
  }

  @ParameterizedTest
  @MethodSource("depths")
  void aBundleIsSentOnceOrEachItemByItself(BundleReads reads, BundleForward forward) {
    settings.change(reads, forward);
    List<String> ids = create(3);
    delete(ids);
    int calls = forward == BundleForward.ONCE ? 1 : 3;
    verify(channel, times(calls)).submit(any());
    verify(channel, times(calls)).withdraw(any(), any());
  }

  @ParameterizedTest
  @MethodSource("depths")
  void whatCannotBeSentIsNotStored(BundleReads reads, BundleForward forward) {
    settings.change(reads, forward);
    doThrow(Problems.unavailable("the broker does not answer", null)).when(channel).submit(any());
    Bundle<Object> answer = quotes.create(items(3), OWNER, null).created(InsuranceQuoteRequest::id);
    assertThat(statuses(answer)).containsExactly(503, 503, 503);
    assertThat(stored()).isZero();
  }

  @Test
  void aRequestThatCannotBeWithdrawnStays() {
    String id = create(1).get(0);
    doThrow(Problems.unavailable("the broker does not answer", null))
        .when(channel)
        .withdraw(any(), any());
    assertThat(statuses(delete(List.of(id)))).containsExactly(503);
    assertThat(stored()).isEqualTo(1);
  }

  @Test
  void whatIsAskedForAnotherCustomerIsForbiddenAndNotSent() {
    assertThatThrownBy(() -> quotes.create(Items.one(Quotes.wanted()), OTHER, null).only())
        .hasMessageContaining("403");
    verify(channel, never()).submit(any());
  }

  @ParameterizedTest
  @MethodSource("depths")
  void aRepetitionUnderTheSameKeyIsTheSameRequest(BundleReads reads, BundleForward forward) {
    settings.change(reads, forward);
    List<InsuranceQuoteRequest> first = created("key");
    List<InsuranceQuoteRequest> again = created("key");
    assertThat(again).isEqualTo(first);
    assertThat(stored()).isEqualTo(2);
    assertThat(created("other key")).doesNotContainAnyElementsOf(first);
  }

  @Test
  void theFailureOfOneItemOfManyFailsNoOther() {
    doThrow(Problems.unavailable("the broker does not answer", null))
        .doNothing()
        .when(channel)
        .submit(argThat(requests -> requests.size() == 1));
    assertThat(statuses(quotes.create(items(3), OWNER, null).created(InsuranceQuoteRequest::id)))
        .containsExactly(503, 200, 200);
    assertThat(stored()).isEqualTo(2);
  }

  private List<InsuranceQuoteRequest> created(String key) {
    return quotes.create(items(2), OWNER, key).created(InsuranceQuoteRequest::id).items().stream()
        .map(item -> (InsuranceQuoteRequest) item.body())
        .toList();
  }

  private List<String> create(int size) {
    return quotes
        .create(items(size), OWNER, null)
        .created(InsuranceQuoteRequest::id)
        .items()
        .stream()
        .map(Item::id)
        .toList();
  }

  private Bundle<Object> delete(List<String> ids) {
    return quotes.delete(Items.of(ids, id -> id), OWNER).deleted();
  }

  private static Items<NewInsuranceQuoteRequest> items(int size) {
    return Items.of(Collections.nCopies(size, Quotes.wanted()), request -> null);
  }

  private int stored() {
    return database
        .sql("SELECT COUNT(*) FROM insurance_quote_requests")
        .query(Integer.class)
        .single();
  }

  private static List<Integer> statuses(Bundle<Object> answer) {
    return answer.items().stream().map(Item::status).toList();
  }
}
