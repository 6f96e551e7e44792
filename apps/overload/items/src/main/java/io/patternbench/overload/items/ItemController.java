package io.patternbench.overload.items;

import io.patternbench.apps.commons.Problems;
import java.util.Map;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;

@RestController
@RequestMapping("/items/{id}")
class ItemController {
  private static final int LONGEST = 2000;

  private final LookAside items;

  ItemController(LookAside items) {
    this.items = items;
  }

  /** A note of somebody on an item. */
  record Note(String text) {}

  @GetMapping
  Item item(@PathVariable long id) {
    return items.item(id);
  }

  @PostMapping("/notes")
  @ResponseStatus(HttpStatus.CREATED)
  Map<String, String> keep(@PathVariable long id, @RequestBody Note note) {
    if (note.text() == null || note.text().length() > LONGEST) {
      throw Problems.badRequest("text is missing, or longer than " + LONGEST + " characters");
    }
    return Map.of("id", items.keep(id, note.text()));
  }
}
