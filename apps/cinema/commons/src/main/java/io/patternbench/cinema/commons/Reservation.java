package io.patternbench.cinema.commons;

import com.fasterxml.jackson.annotation.JsonInclude;
import jakarta.validation.constraints.Digits;
import jakarta.validation.constraints.Email;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.NotBlank;
import jakarta.validation.constraints.NotNull;
import jakarta.validation.constraints.Pattern;
import jakarta.validation.constraints.PositiveOrZero;
import jakarta.validation.constraints.Size;
import java.math.BigDecimal;
import java.time.LocalDate;
import java.util.UUID;

/**
 * Seats for a show. What a client asks for has no id yet, and one that it sends does not count.
 *
 * @param date any date: no service compares it with its clock
 * @param showTime such as {@code 18:00}
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record Reservation(
    UUID id,
    @NotBlank @Size(max = 100) String clientName,
    @NotBlank @Email @Size(max = 254) String clientEmail,
    @NotBlank @Size(max = 20) String movieId,
    @NotNull LocalDate date,
    @NotNull @Pattern(regexp = "([01]\\d|2[0-3]):[0-5]\\d") String showTime,
    @Min(1) @Max(100) int tickets,
    @NotBlank @Size(max = 40) String ticketType,
    @NotNull @PositiveOrZero @Digits(integer = 8, fraction = 2) BigDecimal amount) {
  public Reservation withId(UUID newId) {
    return new Reservation(
        newId, clientName, clientEmail, movieId, date, showTime, tickets, ticketType, amount);
  }
}
