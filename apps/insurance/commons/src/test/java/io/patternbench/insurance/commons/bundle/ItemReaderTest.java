package io.patternbench.insurance.commons.bundle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.patternbench.insurance.commons.Address;
import jakarta.validation.Validation;
import jakarta.validation.ValidatorFactory;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.springframework.http.converter.json.Jackson2ObjectMapperBuilder;

class ItemReaderTest {
  private static final ValidatorFactory FACTORY = Validation.buildDefaultValidatorFactory();
  private static final ObjectMapper JSON = Jackson2ObjectMapperBuilder.json().build();
  private static final String GOOD =
      "{'streetAddress': 'Seestrasse 1', 'postalCode': '8640', 'city': 'Rapperswil'}";
  private final ItemReader reader = new ItemReader(JSON, FACTORY.getValidator(), 3);

  @AfterAll
  static void close() {
    FACTORY.close();
  }

  @Test
  void aBundleHasNeitherNoItemsNorTooMany() {
    List<JsonNode> four = Collections.nCopies(4, JSON.createObjectNode());
    assertThatThrownBy(() -> reader.bodies(List.of(), Address.class))
        .hasMessageContaining("from 1 to 3 items, this one has 0");
    assertThatThrownBy(() -> reader.bodies(four, Address.class))
        .hasMessageContaining("this one has 4");
    assertThatThrownBy(() -> reader.ids(",")).hasMessageContaining("this one has 0");
    assertThatThrownBy(() -> reader.ids("a,b,c,d")).hasMessageContaining("this one has 4");
  }

  @Test
  void aListOfOneEndsWithAComma() {
    assertThat(reader.ids("a,").only()).isEqualTo("a");
  }

  @Test
  void everythingThatIsWrongWithAnItemIsSaidAtOnce() throws Exception {
    assertThatThrownBy(() -> read("{'postalCode': '12345678901', 'city': ' '}").only())
        .hasMessageContaining(
            "city must not be blank, postalCode size must be between 0 and 10,"
                + " streetAddress must not be blank");
  }

  @Test
  void anItemThatCannotBeReadIsABadRequestOfItsOwn() throws Exception {
    Bundle<Object> answer = read("1", "null", "[]", "{'city': {}}", GOOD).bundle();
    assertThat(answer.items())
        .extracting(Bundle.Item::status)
        .containsExactly(400, 400, 400, 400, 200);
    assertThat(answer.items().get(3).body().toString()).contains("city cannot be read");
  }

  @Test
  void anItemWithoutItsIdIsABadRequestOfItsOwn() throws Exception {
    List<JsonNode> bodies =
        List.of(json(GOOD), json("{'id': 7}"), json(GOOD.replace("{", "{'id': 'a', ")));
    Bundle<Object> answer = reader.identified(bodies, Address.class, "id").bundle();
    assertThat(answer.items()).extracting(Bundle.Item::status).containsExactly(400, 400, 200);
    assertThat(answer.items().get(2).id()).isEqualTo("a");
  }

  private Items<Address> read(String... bodies) throws Exception {
    ItemReader large = new ItemReader(JSON, FACTORY.getValidator(), 10);
    List<JsonNode> nodes = new ArrayList<>();
    for (String body : bodies) {
      nodes.add(json(body));
    }
    return large.bodies(nodes, Address.class);
  }

  private static JsonNode json(String text) throws Exception {
    return JSON.readTree(text.replace('\'', '"'));
  }
}
