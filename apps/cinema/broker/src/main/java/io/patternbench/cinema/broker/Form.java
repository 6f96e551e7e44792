package io.patternbench.cinema.broker;

import io.patternbench.cinema.messages.Answer;
import java.io.ByteArrayOutputStream;

/** How answers are put into a body: as a list, or as the one that there is. */
enum Form {
  LIST {
    @Override
    byte[] body(Answers answers) {
      ByteArrayOutputStream body = new ByteArrayOutputStream();
      char before = '[';
      for (Answer answer : answers.come()) {
        body.write(before);
        body.writeBytes(answer.json());
        before = ',';
      }
      if (answers.come().isEmpty()) {
        body.write('[');
      }
      body.write(']');
      return body.toByteArray();
    }
  },
  ONE {
    @Override
    byte[] body(Answers answers) {
      return answers.come().isEmpty() ? new byte[0] : answers.come().get(0).json();
    }
  };

  /** The JSON of what has come so far. */
  abstract byte[] body(Answers answers);
}
