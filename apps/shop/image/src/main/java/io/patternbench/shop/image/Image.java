package io.patternbench.shop.image;

import io.patternbench.shop.commons.Commons;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Import;

/** Draws the pictures of the shop, in every size, and keeps what it has drawn for a while. */
@SpringBootApplication
@Import(Commons.class)
public class Image {
  public static void main(String[] args) {
    SpringApplication.run(Image.class, args);
  }
}
