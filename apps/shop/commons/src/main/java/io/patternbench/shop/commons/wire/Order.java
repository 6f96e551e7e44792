package io.patternbench.shop.commons.wire;

import com.fasterxml.jackson.annotation.JsonInclude;
import java.time.LocalDateTime;
import java.util.List;

/**
 * What somebody has bought.
 *
 * @param orderItems what it holds when it is placed; null when it is read, as items are read apart
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record Order(
    long id,
    long userId,
    LocalDateTime time,
    long totalPriceInCents,
    String addressName,
    String address1,
    String address2,
    String creditCardCompany,
    String creditCardNumber,
    String creditCardExpiryDate,
    List<OrderItem> orderItems) {}
