package io.patternbench.insurance.system;

import io.patternbench.apps.testing.MariaDbServer;
import io.patternbench.apps.testing.RabbitMqServer;
import io.patternbench.insurance.commons.bundle.BundleForward;
import io.patternbench.insurance.commons.bundle.BundleReads;
import io.patternbench.insurance.customercore.CustomerCore;
import io.patternbench.insurance.customermanagement.CustomerManagement;
import io.patternbench.insurance.policymanagement.PolicyManagement;
import io.patternbench.insurance.selfservice.CustomerSelfService;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** The four services with their stores, as one insurance. */
final class Insurance implements AutoCloseable {
  final MariaDbServer store = new MariaDbServer();
  final RabbitMqServer broker;
  final Service core;
  final Service management;
  final Service policies;
  final Service selfService;
  private final String channel;

  private Insurance(RabbitMqServer broker) {
    this.broker = broker;
    channel = "QUOTE_CHANNEL=" + (broker == null ? "http" : "message");
    core = start("customer-core", CustomerCore.class);
    String coreUrl = "CUSTOMER_CORE=" + core.url();
    management = start("customer-management", CustomerManagement.class, coreUrl);
    policies = start("policy-management", PolicyManagement.class, coreUrl);
    selfService = startSelfService();
  }

  static Insurance withMessages() {
    return new Insurance(new RabbitMqServer());
  }

  static Insurance withHttp() {
    return new Insurance(null);
  }

  /** One more self-service on the same store. */
  Service startSelfService() {
    return start(
        "customer-self-service",
        CustomerSelfService.class,
        "CUSTOMER_CORE=" + core.url(),
        "POLICY_MANAGEMENT=" + policies.url());
  }

  private Service start(String name, Class<?> application, String... addresses) {
    List<String> settings = new ArrayList<>(List.of(addresses));
    settings.add("DATABASE_URL=" + store.database(name.replace('-', '_')));
    settings.add("DATABASE_USER=" + MariaDbServer.USER);
    settings.add("DATABASE_PASSWORD=" + MariaDbServer.PASSWORD);
    settings.add(channel);
    // A machine that is busy with other things is slow, which is not what is tested here.
    settings.add("READ_TIMEOUT=60s");
    settings.add("QUOTE_CONFIRM_WITHIN=60s");
    if (broker != null) {
      settings.add("RABBITMQ=" + broker.address());
    }
    return Service.start(name, application, settings);
  }

  void bundlesGo(BundleReads reads, BundleForward forward) {
    core.bundles().change(reads, null);
    policies.bundles().change(reads, forward);
    selfService.bundles().change(reads, forward);
  }

  /** The calls of all services so far. */
  Calls.Count calls() {
    return Stream.of(core, management, policies, selfService)
        .map(Service::calls)
        .reduce(new Calls.Count(0, 0), Calls.Count::plus);
  }

  /** The databases of all services, for a test to look into; calls here are not counted. */
  Connection database() {
    try {
      return DriverManager.getConnection(
          store.database("policy_management"), MariaDbServer.USER, MariaDbServer.PASSWORD);
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  /** The ids of the quote requests that a service has. */
  List<String> quotesOf(String database) {
    try (Connection connection = database();
        Statement statement = connection.createStatement();
        ResultSet rows =
            statement.executeQuery("SELECT id FROM " + database + ".insurance_quote_requests")) {
      List<String> ids = new ArrayList<>();
      while (rows.next()) {
        ids.add(rows.getString("id"));
      }
      return ids;
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  @Override
  public void close() {
    Stream.of(selfService, policies, management, core).forEach(Service::close);
    if (broker != null) {
      broker.close();
    }
    store.close();
  }
}
