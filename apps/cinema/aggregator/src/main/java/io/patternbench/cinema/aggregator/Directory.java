package io.patternbench.cinema.aggregator;

import io.patternbench.apps.commons.Problems;
import io.patternbench.cinema.aggregator.Levels.Via;
import io.patternbench.cinema.commons.Cinema;
import java.util.List;
import org.springframework.cloud.client.ServiceInstance;
import org.springframework.cloud.client.discovery.DiscoveryClient;
import org.springframework.cloud.client.loadbalancer.LoadBalancerClient;
import org.springframework.stereotype.Component;

/** Which cinemas are registered, and where they are. */
@Component
class Directory {
  private final DiscoveryClient discovery;
  private final LoadBalancerClient balancer;
  private final String gateway;

  Directory(
      DiscoveryClient discovery, LoadBalancerClient balancer, AggregatorProperties properties) {
    this.discovery = discovery;
    this.balancer = balancer;
    this.gateway = properties.gateway();
  }

  /** The names of the cinemas that have an instance, in alphabetical order. */
  List<String> cinemas() {
    return Cinema.names(discovery.getServices())
        .filter(name -> !discovery.getInstances(Cinema.service(name)).isEmpty())
        .toList();
  }

  /** Where to call a cinema: the gateway, or its instances in turn. */
  String address(String cinema, Via via) {
    return (via == Via.GATEWAY ? gateway : instance(Cinema.service(cinema))) + "/cinema/" + cinema;
  }

  private String instance(String service) {
    ServiceInstance instance = balancer.choose(service);
    if (instance == null) {
      throw Problems.unavailable("there is no instance of " + service, null);
    }
    return instance.getUri().toString();
  }
}
