package io.patternbench.kit;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

/** A round under way: its users, each on a thread, and the rows that they leave. */
final class RunningRound implements AutoCloseable {
  private static final long STACK_BYTES = 256 * 1024;

  private final Round round;
  private final Adapter adapter;
  private final Rows rows = new Rows();
  private final RoundClock clock = new RoundClock();
  private final ScheduledThreadPoolExecutor timer = new ScheduledThreadPoolExecutor(1, DAEMONS);
  private final List<Connection> connections = new ArrayList<>();
  private final List<Thread> threads = new ArrayList<>();
  private final CountDownLatch go = new CountDownLatch(1);
  private final CountDownLatch ended;
  private final AtomicReference<Throwable> defect = new AtomicReference<>();
  private long cpuAtStartNanos;
  private volatile long durationUs;

  RunningRound(Round round, Adapter adapter) {
    this.round = round;
    this.adapter = adapter;
    this.ended = new CountDownLatch(round.users());
    timer.setRemoveOnCancelPolicy(true);
  }

  /** Gets every user ready, then lets all of them begin at the same moment. */
  void start() {
    Guards guards = new Guards(round.strategy(), adapter);
    for (int number = 0; number < round.users(); number++) {
      Connection connection = new Connection(round, timer, userAgent());
      connections.add(connection);
      User user = new User(number, round, guards.ofUser(), connection, rows, clock);
      threads.add(threadOf(user));
    }
    threads.forEach(Thread::start);
    cpuAtStartNanos = cpuNanos();
    clock.start();
    go.countDown();
  }

  private String userAgent() {
    Description client = adapter.description();
    return "patternbench-client-" + client.name() + "/" + client.version();
  }

  /** Waits for the end of the round; false when the time is over before. */
  boolean awaitEnd(long millis) throws InterruptedException {
    return ended.await(millis, TimeUnit.MILLISECONDS);
  }

  Rows rows() {
    return rows;
  }

  /** What kept a user from going on; null when nothing did. */
  Throwable defect() {
    return defect.get();
  }

  /** From the start to the end of the last user. */
  long durationUs() {
    return durationUs;
  }

  /** The time that this process has spent computing since the round's start. */
  long cpuUs() {
    return Math.max(0, (cpuNanos() - cpuAtStartNanos) / 1000);
  }

  /** Ends the round, finished or not, and everything that it holds. */
  @Override
  public void close() {
    clock.stop();
    go.countDown();
    connections.forEach(Connection::abandon);
    threads.forEach(Thread::interrupt);
    timer.shutdownNow();
    connections.forEach(RunningRound::closeQuietly);
  }

  private Thread threadOf(User user) {
    Thread thread = new Thread(null, () -> runToEnd(user), "user", STACK_BYTES);
    thread.setDaemon(true);
    return thread;
  }

  private void runToEnd(User user) {
    try {
      go.await();
      user.run();
    } catch (Throwable e) {
      noteDefect(e);
    } finally {
      end();
    }
  }

  /** An abandoned user is interrupted; only before that is an exception a defect. */
  private void noteDefect(Throwable e) {
    if (!clock.isStopped()) {
      defect.compareAndSet(null, e);
      clock.stop();
    }
  }

  private synchronized void end() {
    durationUs = Math.max(durationUs, clock.elapsedUs());
    ended.countDown();
  }

  private static long cpuNanos() {
    return ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
        .getProcessCpuTime();
  }

  private static void closeQuietly(Connection connection) {
    try {
      connection.close();
    } catch (IOException e) {
      // The round is over; a connection that cannot be closed politely is gone all the same.
    }
  }

  private static final java.util.concurrent.ThreadFactory DAEMONS =
      task -> {
        Thread thread = new Thread(task, "timer");
        thread.setDaemon(true);
        return thread;
      };
}
