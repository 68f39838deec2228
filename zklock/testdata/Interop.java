import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.framework.recipes.locks.Revoker;
import org.apache.curator.retry.ExponentialBackoffRetry;

/**
 * Curator's side of TestCurator: takes the same locks at the same time, and
 * touches the same files under them. Arguments: server, path, directory, turns.
 */
public class Interop {
    static final int THREADS = 2; // for each kind of lock
    static String server, path;
    static Path dir;
    static int turns;
    static final AtomicInteger violations = new AtomicInteger();

    interface Turn {
        void take(CuratorFramework client, int thread, int turn) throws Exception;
    }

    public static void main(String[] args) throws Exception {
        server = args[0];
        path = args[1];
        dir = Paths.get(args[2]);
        turns = Integer.parseInt(args[3]);
        List<Thread> threads = new ArrayList<>();
        CountDownLatch connected = new CountDownLatch(3 * THREADS);
        for (Turn turn : new Turn[] {Interop::mutex, Interop::readWrite, Interop::semaphore}) {
            for (int i = 0; i < THREADS; i++) {
                int thread = i;
                threads.add(new Thread(() -> run(turn, thread, connected)));
            }
        }
        threads.forEach(Thread::start);
        connected.await();
        System.out.println("READY");
        for (Thread t : threads) {
            t.join();
        }
        System.out.println("DONE " + violations);
        revocation();
        System.exit(0);
    }

    static CuratorFramework connect() throws Exception {
        CuratorFramework client = CuratorFrameworkFactory.newClient(server, new ExponentialBackoffRetry(100, 3));
        client.start();
        client.blockUntilConnected();
        return client;
    }

    static void run(Turn turn, int thread, CountDownLatch connected) {
        try (CuratorFramework client = connect()) {
            turn.take(client, thread, 0);
            connected.countDown();
            for (int i = 1; i < turns; i++) {
                turn.take(client, thread, i);
            }
        } catch (Exception e) {
            e.printStackTrace();
            System.exit(1);
        }
    }

    static void mutex(CuratorFramework client, int thread, int turn) throws Exception {
        InterProcessMutex m = new InterProcessMutex(client, path + "/mutex");
        m.acquire();
        m.acquire();
        increment("mutex");
        m.release();
        m.release();
    }

    static void readWrite(CuratorFramework client, int thread, int turn) throws Exception {
        InterProcessReadWriteLock rw = new InterProcessReadWriteLock(client, path + "/rw");
        if ((turn + thread) % 3 == 0) {
            rw.writeLock().acquire();
            increment("rw");
            rw.writeLock().release();
            return;
        }
        rw.readLock().acquire();
        int before = read("rw");
        Thread.sleep(2);
        if (read("rw") != before) {
            violations.incrementAndGet();
        }
        rw.readLock().release();
    }

    static void semaphore(CuratorFramework client, int thread, int turn) throws Exception {
        InterProcessSemaphoreV2 s = new InterProcessSemaphoreV2(client, path + "/semaphore", 2);
        Lease lease = s.acquire();
        Path mine = dir.resolve("holders/java" + thread);
        Files.createFile(mine);
        Thread.sleep(2);
        if (dir.resolve("holders").toFile().list().length > 2) {
            violations.incrementAndGet();
        }
        Files.delete(mine);
        s.returnLease(lease);
    }

    /** First Curator holds and is asked, and then it asks. */
    static void revocation() throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        CuratorFramework client = connect();
        InterProcessMutex m = new InterProcessMutex(client, path + "/revoke");
        CountDownLatch asked = new CountDownLatch(1);
        m.makeRevocable(lock -> asked.countDown());
        m.acquire();
        System.out.println("HELD");
        asked.await();
        m.release();
        System.out.println("REVOKED");
        in.readLine(); // the other side holds
        Revoker.attemptRevoke(client, m.getParticipantNodes().iterator().next());
        in.readLine(); // the other side has heard
        client.close();
    }

    static int read(String name) throws Exception {
        return Integer.parseInt(Files.readString(dir.resolve(name)).trim());
    }

    /** Loses updates unless the lock excludes. */
    static void increment(String name) throws Exception {
        int n = read(name);
        Thread.sleep(1);
        Files.writeString(dir.resolve(name), Integer.toString(n + 1));
    }
}
