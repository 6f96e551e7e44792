package io.patternbench.shop.webui;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.anyInt;
import static org.mockito.ArgumentMatchers.anyLong;
import static org.mockito.ArgumentMatchers.anyString;
import static org.mockito.ArgumentMatchers.eq;
import static org.mockito.Mockito.verify;
import static org.mockito.Mockito.when;
import static org.springframework.test.web.servlet.request.MockMvcRequestBuilders.get;
import static org.springframework.test.web.servlet.request.MockMvcRequestBuilders.post;

import io.patternbench.shop.commons.web.PersistenceClient;
import io.patternbench.shop.commons.wire.Bundle;
import io.patternbench.shop.commons.wire.Category;
import io.patternbench.shop.commons.wire.Order;
import io.patternbench.shop.commons.wire.OrderItem;
import io.patternbench.shop.commons.wire.Product;
import io.patternbench.shop.commons.wire.Session;
import io.patternbench.shop.commons.wire.User;
import jakarta.servlet.http.Cookie;
import java.net.ConnectException;
import java.time.LocalDateTime;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.autoconfigure.web.servlet.AutoConfigureMockMvc;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.mock.web.MockHttpServletResponse;
import org.springframework.test.context.bean.override.mockito.MockitoBean;
import org.springframework.test.web.servlet.MockMvc;
import org.springframework.test.web.servlet.request.MockHttpServletRequestBuilder;
import org.springframework.web.client.HttpClientErrorException;
import org.springframework.web.client.ResourceAccessException;

/** The pages, with the other services played. */
@SpringBootTest
@AutoConfigureMockMvc
class WebUiTest {
  private static final Product SEVEN = new Product(7, 1, "Morning <Mist>", "Fresh.", 505);
  private static final Product EIGHT = new Product(8, 1, "Quiet Ember", "Warm.", 900);
  private static final Session SIGNED_IN = new Session(4L, "1-a", "signed", null, null);
  private static final Session WITH_CART =
      new Session(4L, "1-a", "signed", List.of(OrderItem.inCart(7, 2, 505)), null);

  @Autowired private MockMvc pages;
  @Autowired private SessionCookie cookies;
  @MockitoBean private PersistenceClient persistence;
  @MockitoBean private AuthClient auth;
  @MockitoBean private RecommenderClient recommender;
  @MockitoBean private ImageClient images;

  @BeforeEach
  void shop() {
    when(persistence.categories()).thenReturn(List.of(new Category(1, "Black tea", "Malty.")));
    when(persistence.category(1)).thenReturn(new Category(1, "Black tea", "Malty."));
    when(persistence.countOfProducts(1)).thenReturn(41);
    when(persistence.productsOf(eq(1L), anyInt(), eq(20))).thenReturn(List.of(SEVEN, EIGHT));
    when(persistence.product(7)).thenReturn(SEVEN);
    when(persistence.products(anyString()))
        .thenAnswer(call -> bundle(call.<String>getArgument(0).split(",")));
    when(persistence.user(4)).thenReturn(new User(4, "user3", "", "Ada", "user3@example.org"));
    when(auth.isLoggedIn(any())).thenAnswer(call -> call.getArgument(0));
    when(recommender.recommend(any(), any())).thenReturn(List.of(8L));
    when(images.web(any())).thenReturn(Map.of("icon", "data:icon"));
    when(images.products(any())).thenReturn(Map.of(7L, "data:seven", 8L, "data:eight"));
  }

  private static Bundle<Product> bundle(String[] ids) {
    Map<String, Product> known = Map.of("7", SEVEN, "8", EIGHT);
    return Bundle.of(
        Stream.of(ids)
            .map(id -> new Bundle.Item<>(Long.parseLong(id), 200, known.get(id)))
            .toList());
  }

  @Test
  void aPageIsPutTogetherFromAllServices() throws Exception {
    assertThat(text(get("/product?id=7"), 200))
        .contains("Black tea", "data:icon", "data:seven", "5.05 €", "Quiet Ember", "data:eight");
  }

  @Test
  void whatIsCalledByMarkupIsShownAsText() throws Exception {
    assertThat(text(get("/product?id=7"), 200))
        .contains("Morning &lt;Mist&gt;")
        .doesNotContain("<Mist>");
  }

  @Test
  void aCategoryHasPagesAndAPageThatThereIsNotIsTheNextBest() throws Exception {
    assertThat(text(get("/category?id=1&page=99"), 200))
        .contains("aria-current=\"page\">3<")
        .doesNotContain(">4<");
    verify(persistence).productsOf(1, 40, 20);
    text(get("/category?id=1&page=-1"), 200);
    verify(persistence).productsOf(1, 0, 20);
  }

  @Test
  void whatIsPutIntoTheCartIsInTheBrowsersCookie() throws Exception {
    when(auth.add(7, SIGNED_IN)).thenReturn(WITH_CART);
    MockHttpServletResponse answer = send(post("/cart/add?id=7"), SIGNED_IN);
    assertThat(answer.getStatus()).isEqualTo(302);
    assertThat(answer.getRedirectedUrl()).isEqualTo("/cart");
    assertThat(answer.getHeader(HttpHeaders.SET_COOKIE)).contains("HttpOnly", "SameSite=Lax");
    assertThat(text(get("/cart"), WITH_CART, 200))
        .contains("Cart (<span>2</span>)", "Morning &lt;Mist&gt;", "10.10 €", "Buy");
  }

  @Test
  void aFullCartFitsIntoACookie() {
    List<OrderItem> items =
        LongStream.range(480, 500).mapToObj(id -> OrderItem.inCart(id, 1000, 2995)).toList();
    Session full =
        new Session(
            100L, "1767225600-123e4567-e89b-12d3-a456-426614174000", "f".repeat(64), items, null);
    MockHttpServletResponse answer = new MockHttpServletResponse();
    cookies.write(full, answer);
    assertThat(answer.getHeader(HttpHeaders.SET_COOKIE).length()).isLessThan(4096);
  }

  @Test
  void aCookieThatCannotBeReadIsNoSession() throws Exception {
    for (String value : new String[] {"", "%%%", "bm90aGluZw", "W10"}) {
      MockHttpServletResponse answer =
          pages.perform(get("/").cookie(new Cookie("session", value))).andReturn().getResponse();
      assertThat(answer.getStatus()).isEqualTo(200);
      assertThat(answer.getContentAsString()).contains("Sign in");
    }
  }

  @Test
  void whoeverIsNotSignedInIsAskedTo() throws Exception {
    Session visitor = new Session(null, "1-a", "signed", WITH_CART.orderItems(), null);
    assertThat(text(get("/cart"), visitor, 200)).contains("Sign in to buy").doesNotContain(">Buy<");
    assertThat(send(get("/profile"), visitor).getRedirectedUrl()).isEqualTo("/login");
  }

  @Test
  void aWrongPasswordIsToldOnTheSamePage() throws Exception {
    when(auth.login(any(), any(), any())).thenThrow(refused(HttpStatus.UNAUTHORIZED));
    assertThat(text(post("/login?name=user3&password=wrong"), 401))
        .contains("Name or password is wrong", "Password");
  }

  @Test
  void whatWasBoughtIsAmongTheOrders() throws Exception {
    when(auth.placeOrder(any(), eq(WITH_CART))).thenReturn(SIGNED_IN);
    when(persistence.ordersOf(4))
        .thenReturn(
            List.of(
                new Order(
                    1001,
                    4,
                    LocalDateTime.of(2026, 1, 2, 3, 4),
                    1010,
                    "Ada",
                    "A 1",
                    "",
                    "Visa",
                    "1",
                    "12/2030",
                    null)));
    assertThat(send(post("/order?addressName=Ada"), WITH_CART).getRedirectedUrl())
        .isEqualTo("/profile");
    assertThat(text(get("/profile"), SIGNED_IN, 200))
        .contains("1001", "2026-01-02 03:04", "Ada, A 1", "10.10 €");
  }

  @Test
  void withoutPicturesAdviceOrAuthAPageIsStillAPage() throws Exception {
    when(images.web(any())).thenThrow(away());
    when(images.products(any())).thenThrow(away());
    when(recommender.recommend(any(), any())).thenThrow(away());
    when(auth.isLoggedIn(any())).thenThrow(away());
    assertThat(text(get("/product?id=7"), SIGNED_IN, 200))
        .contains("5.05 €", "Sign in")
        .doesNotContain("<img", "You might like");
  }

  @Test
  void whatCannotBeDoneIsSaidOnAPageWithItsStatus() throws Exception {
    when(persistence.product(9)).thenThrow(refused(HttpStatus.NOT_FOUND));
    assertThat(text(get("/product?id=9"), 404)).contains("not on our shelves");
    when(auth.add(anyLong(), any())).thenThrow(away());
    assertThat(text(post("/cart/add?id=7"), 503)).contains("does not answer");
    when(persistence.categories()).thenThrow(away());
    assertThat(text(get("/"), 503)).contains("does not answer");
  }

  @Test
  void aSessionThatAuthDoesNotTakeIsForgotten() throws Exception {
    when(auth.add(anyLong(), any())).thenThrow(refused(HttpStatus.UNAUTHORIZED));
    MockHttpServletResponse answer = send(post("/cart/add?id=7"), WITH_CART);
    assertThat(answer.getStatus()).isEqualTo(401);
    MockHttpServletResponse emptied = new MockHttpServletResponse();
    cookies.write(Session.EMPTY, emptied);
    assertThat(answer.getHeader(HttpHeaders.SET_COOKIE))
        .isEqualTo(emptied.getHeader(HttpHeaders.SET_COOKIE));
  }

  private static HttpClientErrorException refused(HttpStatus status) {
    return HttpClientErrorException.create(status, "", HttpHeaders.EMPTY, new byte[0], null);
  }

  private static ResourceAccessException away() {
    return new ResourceAccessException("refused", new ConnectException());
  }

  private String text(MockHttpServletRequestBuilder request, int status) throws Exception {
    return text(request, Session.EMPTY, status);
  }

  private String text(MockHttpServletRequestBuilder request, Session session, int status)
      throws Exception {
    MockHttpServletResponse answer = send(request, session);
    assertThat(answer.getStatus()).isEqualTo(status);
    return answer.getContentAsString();
  }

  private MockHttpServletResponse send(MockHttpServletRequestBuilder request, Session session)
      throws Exception {
    MockHttpServletResponse browser = new MockHttpServletResponse();
    cookies.write(session, browser);
    return pages.perform(request.cookie(browser.getCookie("session"))).andReturn().getResponse();
  }
}
