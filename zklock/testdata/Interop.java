import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.retry.ExponentialBackoffRetry;

/**
 * Curator's side of TestCurator: takes the same semaphore at the same time, and
 * makes a file for each holder. Arguments: server, path, directory.
 */
public class Interop {
    static final int THREADS = 2;
    static String server, path;
    static Path dir;
    static final int TURNS = 40;
    static final AtomicInteger violations = new AtomicInteger();

    public static void main(String[] args) throws Exception {
        server = args[0];
        path = args[1];
        dir = Paths.get(args[2]);
        List<Thread> threads = new ArrayList<>();
        CountDownLatch connected = new CountDownLatch(THREADS);
        for (int i = 0; i < THREADS; i++) {
            int thread = i;
            threads.add(new Thread(() -> run(thread, connected)));
        }
        threads.forEach(Thread::start);
        connected.await();
        System.out.println("READY");
        for (Thread t : threads) {
            t.join();
        }
        System.out.println("DONE " + violations);
        System.exit(0);
    }

    static CuratorFramework connect() throws Exception {
        CuratorFramework client = CuratorFrameworkFactory.newClient(server, new ExponentialBackoffRetry(100, 3));
        client.start();
        client.blockUntilConnected();
        return client;
    }

    static void run(int thread, CountDownLatch connected) {
        try (CuratorFramework client = connect()) {
            semaphore(client, thread);
            connected.countDown();
            for (int i = 1; i < TURNS; i++) {
                semaphore(client, thread);
            }
        } catch (Exception e) {
            e.printStackTrace();
            System.exit(1);
        }
    }

    static void semaphore(CuratorFramework client, int thread) throws Exception {
        InterProcessSemaphoreV2 s = new InterProcessSemaphoreV2(client, path + "/semaphore", 2);
        Lease lease = s.acquire();
        Path mine = dir.resolve("java" + thread);
        Files.createFile(mine);
        Thread.sleep(2);
        if (dir.toFile().list().length > 2) {
            violations.incrementAndGet();
        }
        Files.delete(mine);
        s.returnLease(lease);
    }
}
