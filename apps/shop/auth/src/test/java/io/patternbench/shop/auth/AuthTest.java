package io.patternbench.shop.auth;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.Mockito.never;
import static org.mockito.Mockito.verify;
import static org.mockito.Mockito.when;
import static org.springframework.test.web.servlet.request.MockMvcRequestBuilders.post;
import static org.springframework.test.web.servlet.request.MockMvcRequestBuilders.put;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.patternbench.shop.commons.web.PersistenceClient;
import io.patternbench.shop.commons.wire.Order;
import io.patternbench.shop.commons.wire.OrderItem;
import io.patternbench.shop.commons.wire.Product;
import io.patternbench.shop.commons.wire.Session;
import io.patternbench.shop.commons.wire.User;
import java.net.ConnectException;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.mockito.ArgumentCaptor;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.autoconfigure.web.servlet.AutoConfigureMockMvc;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.http.ProblemDetail;
import org.springframework.mock.web.MockHttpServletResponse;
import org.springframework.test.context.bean.override.mockito.MockitoBean;
import org.springframework.test.web.servlet.MockMvc;
import org.springframework.test.web.servlet.request.MockHttpServletRequestBuilder;
import org.springframework.web.client.HttpClientErrorException;
import org.springframework.web.client.ResourceAccessException;

/**
 * The service, whose sessions go to the visitor and come back, with a persistence that is played.
 */
@SpringBootTest(properties = "SESSION_SECRET=only-for-tests-only-for-tests-only-for-tests")
@AutoConfigureMockMvc
class AuthTest {
  private static final String HASH = "$2b$08$patternbenchShopShop..97HH9LTJEj7NyKyjmCXQONTY1ez7x12";

  private static final String BUY =
      "/useractions/placeorder?addressName=Ada&address1=A&address2=&creditCardCompany=Visa"
          + "&creditCardNumber=1&creditCardExpiryDate=12/2030&totalPriceInCents=1";

  @Autowired private MockMvc service;
  @Autowired private ObjectMapper json;
  @MockitoBean private PersistenceClient persistence;

  @BeforeEach
  void shop() {
    when(persistence.userNamed("user3"))
        .thenReturn(new User(4, "user3", HASH, "Ada", "user3@example.org"));
    when(persistence.userNamed("nobody")).thenThrow(notFound());
    when(persistence.product(7)).thenReturn(new Product(7, 1, "Morning Mist", "", 500));
    when(persistence.product(8)).thenReturn(new Product(8, 1, "Morning Cloud", "", 900));
    when(persistence.product(9)).thenThrow(notFound());
  }

  private static HttpClientErrorException notFound() {
    HttpHeaders headers = new HttpHeaders();
    headers.setContentType(MediaType.APPLICATION_PROBLEM_JSON);
    HttpClientErrorException answer =
        HttpClientErrorException.create(HttpStatus.NOT_FOUND, "", headers, new byte[0], null);
    answer.setBodyConvertFunction(
        type -> ProblemDetail.forStatusAndDetail(HttpStatus.NOT_FOUND, "there is no such thing"));
    return answer;
  }

  @Test
  void whoeverKnowsThePasswordSignsInAndIsKnown() throws Exception {
    Session session = signedIn();
    assertThat(session.uid()).isEqualTo(4);
    Session known = session(send(post("/useractions/isloggedin"), session));
    assertThat(known).isEqualTo(session);
  }

  @Test
  void aWrongPasswordAndAnUnknownNameAreToldTheSame() throws Exception {
    for (String query :
        new String[] {"name=user3&password=pass", "name=nobody&password=password"}) {
      MockHttpServletResponse answer = send(post("/useractions/login?" + query), null);
      assertThat(answer.getStatus()).isEqualTo(401);
      assertThat(answer.getContentAsString()).contains("name or password is wrong");
    }
  }

  @Test
  void whoeverIsNotSignedInOrPretendsToBeIsToldNull() throws Exception {
    Session pretended = new Session(4L, "1-1", "00", null, null);
    for (Session sent : new Session[] {null, Session.EMPTY, pretended}) {
      MockHttpServletResponse answer = send(post("/useractions/isloggedin"), sent);
      assertThat(answer.getStatus()).isEqualTo(200);
      assertThat(answer.getContentAsString()).isIn("", "null");
    }
  }

  @Test
  void aCartTakesProductsAtThePriceThatTheyHave() throws Exception {
    Session session = session(send(post("/cart/add/7"), signedIn()));
    session = session(send(post("/cart/add/8"), session));
    session = session(send(post("/cart/add/7"), session));
    assertThat(session.orderItems())
        .containsExactly(OrderItem.inCart(8, 1, 900), OrderItem.inCart(7, 2, 500));
  }

  @Test
  void aCartIsChangedAndEmptied() throws Exception {
    Session session = session(send(post("/cart/add/7"), null));
    session = session(send(put("/cart/7?quantity=5"), session));
    assertThat(session.orderItems()).containsExactly(OrderItem.inCart(7, 5, 500));
    assertThat(send(put("/cart/7?quantity=0"), session).getStatus()).isEqualTo(400);
    assertThat(send(put("/cart/8?quantity=1"), session).getStatus()).isEqualTo(404);
    assertThat(session(send(post("/cart/remove/7"), session)).orderItems()).isEmpty();
  }

  @Test
  void aCartThatIsFullTakesNoOtherProduct() throws Exception {
    Session session = null;
    for (long id = 100; id < 100 + Cart.MOST_PRODUCTS; id++) {
      when(persistence.product(id)).thenReturn(new Product(id, 1, "", "", 1));
      session = session(send(post("/cart/add/" + id), session));
    }
    assertThat(send(post("/cart/add/100"), session).getStatus()).isEqualTo(200);
    assertThat(send(post("/cart/add/7"), session).getStatus()).isEqualTo(400);
  }

  @Test
  void aSessionThatWasChangedFillsNoCartAndBuysNothing() throws Exception {
    Session session = session(send(post("/cart/add/7"), signedIn()));
    Session cheaper =
        new Session(
            session.uid(),
            session.sid(),
            session.token(),
            List.of(OrderItem.inCart(7, 1, 1)),
            null);
    assertThat(send(post("/cart/add/8"), cheaper).getStatus()).isEqualTo(401);
    assertThat(send(post(BUY), cheaper).getStatus()).isEqualTo(401);
    verify(persistence, never()).place(any());
  }

  @Test
  void whatIsInTheCartIsBoughtOnceAtItsPrice() throws Exception {
    Session session = session(send(post("/cart/add/7"), signedIn()));
    Session after = session(send(post(BUY), session));
    assertThat(after.orderItems()).isEmpty();
    ArgumentCaptor<Order> placed = ArgumentCaptor.forClass(Order.class);
    verify(persistence).place(placed.capture());
    assertThat(placed.getValue().totalPriceInCents()).isEqualTo(500);
    assertThat(placed.getValue().userId()).isEqualTo(4);
    assertThat(send(post(BUY), after).getStatus()).isEqualTo(400);
  }

  @Test
  void anOrderHasEachWordOfItsBillInItsPlace() throws Exception {
    String bill =
        "/useractions/placeorder?addressName=Ada&address1=Street&address2=Town"
            + "&creditCardCompany=Visa&creditCardNumber=314&creditCardExpiryDate=12/2030";
    Session session = session(send(post("/cart/add/7"), signedIn()));
    assertThat(send(post(bill), session).getStatus()).isEqualTo(200);
    List<OrderItem> items = List.of(OrderItem.inCart(7, 1, 500));
    verify(persistence)
        .place(
            new Order(0, 4, null, 500, "Ada", "Street", "Town", "Visa", "314", "12/2030", items));
  }

  @Test
  void allThatABillLacksIsToldAtOnce() throws Exception {
    Session session = session(send(post("/cart/add/7"), signedIn()));
    MockHttpServletResponse answer =
        send(post("/useractions/placeorder?address1=A&address2="), session);
    assertThat(answer.getStatus()).isEqualTo(400);
    assertThat(answer.getContentAsString())
        .contains("addressName must not be blank, creditCardCompany must not be blank");
  }

  @Test
  void nobodyBuysWithoutSigningIn() throws Exception {
    Session visitor = session(send(post("/cart/add/7"), null));
    assertThat(send(post(BUY), visitor).getStatus()).isEqualTo(401);
  }

  @Test
  void aProductThatIsNotThereIsNotFoundAndAPersistenceThatIsAwayIsABadGateway() throws Exception {
    assertThat(send(post("/cart/add/9"), null).getStatus()).isEqualTo(404);
    when(persistence.product(7))
        .thenThrow(new ResourceAccessException("refused", new ConnectException()));
    assertThat(send(post("/cart/add/7"), null).getStatus()).isEqualTo(502);
    assertThat(send(post("/useractions/logout"), null).getStatus()).isEqualTo(200);
  }

  private Session signedIn() throws Exception {
    return session(send(post("/useractions/login?name=user3&password=password"), null));
  }

  private MockHttpServletResponse send(MockHttpServletRequestBuilder request, Session session)
      throws Exception {
    request.contentType(MediaType.APPLICATION_JSON).content(json.writeValueAsBytes(session));
    return service.perform(request).andReturn().getResponse();
  }

  private Session session(MockHttpServletResponse answer) throws Exception {
    assertThat(answer.getStatus()).isEqualTo(200);
    return json.readValue(answer.getContentAsByteArray(), Session.class);
  }
}
