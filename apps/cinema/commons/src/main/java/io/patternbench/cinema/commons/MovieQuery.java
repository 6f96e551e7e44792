package io.patternbench.cinema.commons;

/** Which movies somebody looks for; null stands for any. */
public record MovieQuery(String name, String showTime) {
  public boolean fits(Movie movie) {
    return (name == null || name.equalsIgnoreCase(movie.name()))
        && (showTime == null || movie.showTimes().contains(showTime));
  }
}
