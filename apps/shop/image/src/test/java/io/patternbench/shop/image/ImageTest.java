package io.patternbench.shop.image;

import static org.assertj.core.api.Assertions.assertThat;
import static org.springframework.test.web.servlet.request.MockMvcRequestBuilders.post;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.awt.image.BufferedImage;
import java.io.ByteArrayInputStream;
import java.util.Base64;
import java.util.HashSet;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.autoconfigure.web.servlet.AutoConfigureMockMvc;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.http.MediaType;
import org.springframework.mock.web.MockHttpServletResponse;
import org.springframework.test.web.servlet.MockMvc;
import org.springframework.util.unit.DataSize;

@SpringBootTest
@AutoConfigureMockMvc
class ImageTest {
  private static final String PNG = "data:image/png;base64,";

  @Autowired private MockMvc service;
  @Autowired private ObjectMapper json;

  @Test
  void aPictureHasTheSizeThatWasAskedFor() throws Exception {
    BufferedImage picture = picture("{\"7\": \"300x200\"}", "7");
    assertThat(picture.getWidth()).isEqualTo(300);
    assertThat(picture.getHeight()).isEqualTo(200);
  }

  @Test
  void productsLookDifferentAndEachAlwaysTheSame() throws Exception {
    String all = wanted(1, 100);
    JsonNode first = answered("getProductImages", all);
    Set<String> different = new HashSet<>();
    first.forEach(picture -> different.add(picture.asText()));
    assertThat(different).hasSize(100);
    assertThat(new Gallery(DataSize.ofMegabytes(1)).shown(seven()))
        .isEqualTo(first.get("7").asText());
  }

  private static Picture seven() {
    return new Picture("product 7", new Size(32, 32));
  }

  @Test
  void aPictureHasMoreThanOneColour() throws Exception {
    BufferedImage icon = picture("{\"7\": \"64x64\"}", "7");
    Set<Integer> colours = new HashSet<>();
    for (int x = 0; x < 64; x++) {
      colours.add(icon.getRGB(x, 40));
    }
    assertThat(colours.size()).isGreaterThan(5);
  }

  @Test
  void whatPagesNeedIsFoundByItsName() throws Exception {
    assertThat(answered("getWebImages", "{\"icon\": \"64x64\"}").get("icon").asText())
        .startsWith(PNG);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{\"7\": \"64\"}",
        "{\"7\": \"0x64\"}",
        "{\"7\": \"1025x64\"}",
        "{\"7\": \"-1x64\"}",
        "{\"7\": null}",
        "{\"seven\": \"64x64\"}",
        "[]",
        ""
      })
  void aSizeThatIsNoneIsRefused(String body) throws Exception {
    assertThat(ask("getProductImages", body).getStatus()).isEqualTo(400);
  }

  @Test
  void tooManyPicturesAreRefused() throws Exception {
    assertThat(ask("getProductImages", wanted(1, ImageController.MOST + 1)).getStatus())
        .isEqualTo(400);
  }

  private static String wanted(int first, int last) {
    return IntStream.rangeClosed(first, last)
        .mapToObj("\"%d\": \"32x32\""::formatted)
        .collect(Collectors.joining(",", "{", "}"));
  }

  private BufferedImage picture(String body, String id) throws Exception {
    String text = answered("getProductImages", body).get(id).asText();
    byte[] png = Base64.getDecoder().decode(text.substring(PNG.length()));
    return ImageIO.read(new ByteArrayInputStream(png));
  }

  private JsonNode answered(String path, String body) throws Exception {
    MockHttpServletResponse answer = ask(path, body);
    assertThat(answer.getStatus()).isEqualTo(200);
    return json.readTree(answer.getContentAsByteArray());
  }

  private MockHttpServletResponse ask(String path, String body) throws Exception {
    return service
        .perform(post("/image/" + path).contentType(MediaType.APPLICATION_JSON).content(body))
        .andReturn()
        .getResponse();
  }
}
